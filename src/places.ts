import envPaths from 'env-paths';

/** This program's default folders on this system: `data`, `cache` and others. */
export const PLACES = envPaths('colloquy', { suffix: '' });
