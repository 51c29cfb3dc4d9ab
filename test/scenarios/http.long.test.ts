import { legacyHttp, modernHttp } from './http-drivers.ts';
import { play } from './play.ts';

play([legacyHttp, modernHttp]);
