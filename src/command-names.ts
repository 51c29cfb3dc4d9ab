/** `stdio`: the MCP server, which runs when no command is given. */
export const COMMANDS = [
  'stdio',
  'serve',
  'setup',
  'call',
  'stop',
  'demo',
  'doctor',
  'trash',
  'open',
  'approve',
  'audit',
  'backup',
  'restore',
  'import-lambdas',
  'export',
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Commands that a setting is of. */
export const ALL = COMMANDS;
export const SERVICE = ['stdio', 'serve', 'call', 'doctor'] as const;
/** What an assistant is offered; setup writes these into the assistants' configurations. */
export const OFFER = [...SERVICE, 'setup'] as const;
/** Those that have a data folder: the demo makes one for itself. */
export const FOLDER = COMMANDS.filter((name) => name !== 'demo');
/** Commands that are clients of a service, which may be a remote one. */
export const CLIENT = ['stdio', 'setup', 'call', 'doctor', 'import-lambdas', 'export'] as const;
