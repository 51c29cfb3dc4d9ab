/** Name under which the file is attached: the catalog of everything stored. */
export const CATALOG = '_colloquy';
