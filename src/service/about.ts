import type { About } from '../contract/about.ts';
import type { CallContext } from './context.ts';

/** What this service offers beyond the interface description. */
export function getAbout({ version, build, trash, settings, caller }: CallContext): About {
  return {
    version,
    build: build ?? null,
    trash_days: trash.days,
    settings: { ...settings },
    api_key: caller.keyName,
    time: new Date().toISOString(),
  };
}
