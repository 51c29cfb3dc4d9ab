import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The documentation for people, as paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  ...readdirSync(resolve(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export function readPage(page: string): string {
  return readFileSync(resolve(ROOT, page), 'utf8');
}

/** A fenced code block of a page, and where it ends. */
export interface Block {
  language: string;
  text: string;
  end: number;
}

/** The fenced code blocks of a page; those within a list without its indentation. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map((match) => ({
    language: match[2] ?? '',
    text: (match[3] ?? '').replace(new RegExp(`^${match[1]}`, 'gm'), ''),
    end: match.index + match[0].length,
  }));
}

/** A command of this program, as a page shows it. */
export interface ShownCommand {
  args: string[];
  env: Record<string, string>;
}

/** The commands of this program in a page: in shell blocks, in inline code, and in systemd units or crontabs. */
export function commandsOf(text: string): ShownCommand[] {
  const blocks = blocksOf(text);
  const inShell = blocks.filter(({ language }) => language === 'sh').flatMap((block) => shellCommands(block.text));
  const inUnits = blocks
    .filter(({ language }) => language === 'ini' || language === '')
    .flatMap((block) => [...block.text.matchAll(/dist\/colloquy\.js ([^'\n]*)/g)])
    .flatMap((match) => shellCommands(`node ${match[0]}`));
  const prose = blocks.reduce((rest, block) => rest.replace(block.text, ''), text);
  const inline = [...prose.matchAll(/`([^`]+)`/g)].flatMap((match) => shellCommands(match[1] ?? ''));
  return [...inShell, ...inUnits, ...inline];
}

const ASSIGNMENT = /^([A-Z_]+)=([\s\S]*)$/;

/** The commands of this program in a POSIX shell script; substitutions stay as written. */
export function shellCommands(text: string): ShownCommand[] {
  return commandWords(text).flatMap((words): ShownCommand[] => {
    const env: Record<string, string> = {};
    const rest = words[0] === 'sudo' ? words.slice(words[1] === '-u' ? 3 : 1) : [...words];
    for (let found = ASSIGNMENT.exec(rest[0] ?? ''); found !== null; found = ASSIGNMENT.exec(rest[0] ?? '')) {
      env[found[1] ?? ''] = found[2] ?? '';
      rest.shift();
    }
    if (rest[0] === 'colloquy') return [{ args: rest.slice(1), env }];
    if (rest[0] === 'node' && rest[1]?.endsWith('dist/colloquy.js')) return [{ args: rest.slice(2), env }];
    return [];
  });
}

/** The words of each command, without quotes and comments; commands end at line ends, `;`, `&&` and `|`. */
function commandWords(text: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  const end = () => {
    if (words.length > 0) commands.push(words);
    words = [];
  };
  const tokens = text
    .replace(/\\\n/g, ' ')
    .matchAll(
      /(?<comment>(?<=^|\s)#[^\n]*)|(?<end>\n|;|&&|\|)|(?<word>(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"#;|&]|(?<=\S)#)+)/g,
    );
  for (const { groups } of tokens) {
    if (groups?.['end'] !== undefined) end();
    else if (groups?.['word'] !== undefined) {
      words.push(groups['word'].replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
    }
  }
  end();
  return commands;
}
