// The smallest useful server with the same SDK, bundled in the same way: the lower bound for our own start.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'hello', version: '1.0.0' });
  server.registerTool(
    'hello',
    { description: 'Says hello.', inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}.` }] }),
  );
  return server;
});
