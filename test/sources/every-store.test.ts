import { tryKind } from './every-kind.ts';
import { gcs, s3 } from './kinds/objects.ts';
import { redshift } from './kinds/redshift.ts';

for (const kind of [s3, gcs, redshift]) tryKind(kind);
