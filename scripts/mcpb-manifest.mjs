// The rules of MCPB's manifest specification, version 0.3, where unknown keys are errors, too.
import { z } from 'zod';

const command = z.strictObject({
  command: z.string(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
});

const option = z.strictObject({
  type: z.enum(['string', 'number', 'boolean', 'directory', 'file']),
  title: z.string(),
  description: z.string(),
  required: z.boolean().optional(),
  default: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
  multiple: z.boolean().optional(),
  sensitive: z.boolean().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
});

/** The parts of a manifest that this project uses. */
const schema = z.strictObject({
  manifest_version: z.literal('0.3'),
  name: z.string().regex(/^[a-z0-9-]+$/),
  display_name: z.string(),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  description: z.string(),
  long_description: z.string(),
  author: z.strictObject({ name: z.string(), email: z.email().optional(), url: z.url().optional() }),
  license: z.string(),
  keywords: z.array(z.string()),
  privacy_policies: z.array(z.url()),
  server: z.strictObject({
    type: z.literal('node'),
    entry_point: z.string(),
    mcp_config: command.extend({ platform_overrides: z.record(z.string(), command.partial()).optional() }),
  }),
  tools: z.array(z.strictObject({ name: z.string(), description: z.string().optional() })),
  prompts: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string().optional(),
      arguments: z.array(z.string()).optional(),
      text: z.string(),
    }),
  ),
  prompts_generated: z.boolean().optional(),
  compatibility: z.strictObject({
    claude_desktop: z.string().optional(),
    platforms: z.array(z.enum(['darwin', 'win32', 'linux'])),
    runtimes: z.strictObject({ node: z.string() }),
  }),
  user_config: z.record(z.string().regex(/^\w+$/), option),
});

/**
 * Checks a manifest, and that everything it refers to exists; throws an error that says what is wrong.
 *
 * @param {unknown} manifest
 * @param {(path: string) => boolean} hasFile whether the bundle contains a file
 */
export function checkManifest(manifest, hasFile) {
  const { server, user_config: options } = schema.parse(manifest);
  if (!hasFile(server.entry_point)) throw new Error(`manifest.json: the bundle has no ${server.entry_point}`);
  const texts = [...(server.mcp_config.args ?? []), ...Object.values(server.mcp_config.env ?? {})];
  for (const text of texts) {
    for (const [, name] of text.matchAll(/\$\{user_config\.(\w+)\}/g)) {
      if (!(name in options)) throw new Error(`manifest.json: there is no user_config "${name}"`);
    }
    const [, path] = /^\$\{__dirname\}\/(.+)$/.exec(text) ?? [];
    if (path !== undefined && !hasFile(path)) throw new Error(`manifest.json: the bundle has no ${path}`);
  }
}
