/** Logged at start if nobody will be asked. */
export const GUARD_OFF = 'deletes run without asking a human, since the setting "guard" is off';
