import { expect, it } from 'vitest';
import { API_KEYS_MAX } from '../../src/contract/api-keys.ts';
import { DOCUMENTS_MAX, WRITE_BYTES_MAX } from '../../src/contract/documents.ts';
import { KEYS_MAX, NUMBER_CHARS_MAX } from '../../src/contract/json/json-reader.ts';
import { ITEM_BYTES_MAX, ITEM_VALUES_MAX, VALUES_MAX } from '../../src/contract/json/json-scan.ts';
import { DEPTH_MAX } from '../../src/contract/json/measure.ts';
import {
  PARAMETER_DEPTH_MAX,
  PARAMETER_VALUES_MAX,
  PARAMETERS_MAX,
} from '../../src/engine/duckdb/queries/parameters.ts';
import { MESSAGE_BYTES_MAX } from '../../src/mcp/transports/message.ts';
import { DEFINITION_BYTES_MAX, READ_BYTES_MAX } from '../../src/service/app/body.ts';
import { ID_BYTES_MAX } from '../../src/service/ingest/document-id.ts';
import { readPage } from '../docs/pages.ts';

const count = (number: number) => number.toLocaleString('en-US');
const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`;

it.each([
  ['documents per call', [count(DOCUMENTS_MAX)]],
  ['body of a call', [mib(WRITE_BYTES_MAX), mib(READ_BYTES_MAX), mib(DEFINITION_BYTES_MAX)]],
  ["one document, or piece of a file's text", [mib(ITEM_BYTES_MAX), count(ITEM_VALUES_MAX)]],
  ['one object; one number', [count(KEYS_MAX), count(NUMBER_CHARS_MAX)]],
  ['values in a body, beside documents', [count(VALUES_MAX)]],
  ['nesting of a document', [count(DEPTH_MAX)]],
  ['`_id`', [count(ID_BYTES_MAX)]],
  ['API keys per user', [count(API_KEYS_MAX)]],
  ['parameters given with it', [count(PARAMETERS_MAX)]],
  ['values in the lists and objects of its parameters', [count(PARAMETER_VALUES_MAX)]],
  ['nesting of lists and objects in a parameter', [count(PARAMETER_DEPTH_MAX)]],
])('the page of limits says of "%s" what the code says', (what, numbers) => {
  const row = readPage('src/mcp/docs/limits.md')
    .split('\n')
    .find((line) => line.startsWith(`| ${what} |`));
  expect(row?.match(/\d[\d,]*(?: MiB)?/g)).toEqual(expect.arrayContaining(numbers));
});

it('the page of limits says how long a message may be', () => {
  expect(readPage('src/mcp/docs/limits.md')).toContain(
    `A message to this server has at most ${mib(MESSAGE_BYTES_MAX)}`,
  );
});

it('the README and the page of sources say how much one write may have', () => {
  expect(readPage('README.md')).toContain(`${mib(WRITE_BYTES_MAX)} and ${count(DOCUMENTS_MAX)} documents per write`);
  expect(readPage('src/mcp/docs/sources.md')).toContain(count(DOCUMENTS_MAX));
});
