import { tryKind } from './every-kind.ts';
import { kafka } from './kinds/kafka.ts';
import { kinesis } from './kinds/kinesis.ts';

for (const kind of [kafka, kinesis]) tryKind(kind);
