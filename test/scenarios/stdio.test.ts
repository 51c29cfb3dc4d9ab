import { legacyStdio, modernStdio } from './drivers.ts';
import { play } from './play.ts';

play([legacyStdio, modernStdio]);
