/** @module-tag more */
import { someOf } from '../long.ts';
import { legacyStdio, modernStdio } from './drivers.ts';
import { play } from './play.ts';

// The other transports and protocols are played at length.
play(someOf([modernStdio, legacyStdio], 2));
