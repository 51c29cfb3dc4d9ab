export function buildFuzz(root: string): Promise<{ main: string; child: string }>;
