/**
 * Names the command that a request belongs to. A local service that was started for one command leaves as soon as that
 * is done, unless something else has called meanwhile.
 */
export const COMMAND_HEADER = 'x-colloquy-command';
