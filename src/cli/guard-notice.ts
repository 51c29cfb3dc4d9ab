/** What the log says at the start where nobody is asked. */
export const GUARD_OFF = 'deletes run without asking a human, since the setting "guard" is off';
