import functions from './functions.md';
import integrations from './integrations.md';
import lambdas from './lambdas.md';
import limits from './limits.md';
import security from './security.md';
import sources from './sources.md';
import sql from './sql.md';

/** The documentation by topic, as Markdown. */
export const DOCS = { sql, functions, lambdas, sources, integrations, limits, security } as const;
