import { tryKind } from './every-kind.ts';
import { dynamodb } from './kinds/dynamodb.ts';
import { mongodb } from './kinds/mongodb.ts';

for (const kind of [mongodb, dynamodb]) tryKind(kind);
