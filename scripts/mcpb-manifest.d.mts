export function checkManifest(manifest: unknown, hasFile: (path: string) => boolean): void;
