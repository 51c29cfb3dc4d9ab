// `npm run evals`: how well an assistant works with an MCP server; see README.md.
import { main } from './cli.ts';

const argv = process.argv.slice(2);
const [command, word] = argv;
// What only asks a game that is running, or files, needs no build.
const isQuick = command === 'compare' || (command === 'hand' && word !== 'start');
if (!isQuick && !argv.includes('--help')) await import('../scripts/build.mjs');
process.exitCode = await main(argv, (text) => process.stdout.write(`${text}\n`));
