export function packagesFor(root: string, project: object): Promise<Map<string, string>>;
export function filesIn(folder: string): Promise<string[]>;
export function bytesOf(folders: Iterable<string>): Promise<number>;
