import { dynamodb } from './dynamodb.ts';
import type { KindUnderTest } from './kind.ts';
import { kinesis } from './kinesis.ts';
import { mongodb } from './mongodb.ts';
import { redshift } from './redshift.ts';

/** The kinds that the common tests try. */
export const KINDS_UNDER_TEST: readonly KindUnderTest[] = [kinesis, redshift, dynamodb, mongodb];
