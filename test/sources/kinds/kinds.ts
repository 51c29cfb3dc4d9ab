import { dynamodb } from './dynamodb.ts';
import { kafka } from './kafka.ts';
import type { KindUnderTest } from './kind.ts';
import { kinesis } from './kinesis.ts';
import { mongodb } from './mongodb.ts';
import { gcs, s3 } from './objects.ts';
import { redshift } from './redshift.ts';

/** The kinds that the common tests try. */
export const KINDS_UNDER_TEST: readonly KindUnderTest[] = [s3, gcs, kafka, kinesis, redshift, dynamodb, mongodb];
