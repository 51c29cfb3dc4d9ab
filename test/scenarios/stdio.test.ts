import { isLong } from '../long.ts';
import { legacyStdio, modernStdio } from './drivers.ts';
import { play } from './play.ts';

// The other transports and protocols are played at length.
play(isLong ? [legacyStdio, modernStdio] : [modernStdio]);
