import envPaths from 'env-paths';

/** The folders that this program has by default, as the system has them: `data`, `cache` and others. */
export const PLACES = envPaths('colloquy', { suffix: '' });
