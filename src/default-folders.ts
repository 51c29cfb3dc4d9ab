import envPaths from 'env-paths';

/** This program's default folders on this system: `data`, `cache` and others. */
export const DEFAULT_FOLDERS = envPaths('colloquy', { suffix: '' });
