import type { About } from '../contract/about.ts';
import { admittedBy } from './access/allowlist.ts';
import type { CallContext } from './context.ts';

/** What this service offers beyond the API. */
export function getAbout({ version, build, trash, settings, caller, clock, catalog, origin }: CallContext): About {
  return {
    version,
    build: build ?? null,
    trash_days: trash.days,
    settings: { ...settings },
    user: caller.user.email,
    api_key: caller.keyName,
    admitted_by: admittedBy(catalog, origin),
    time: new Date().toISOString(),
    clock_before: clock.doubt === undefined ? null : new Date(clock.doubt.beforeMs).toISOString(),
  };
}

/** A person says that the clock is right, although it jumped ahead. */
export async function confirmClock(ctx: CallContext): Promise<About> {
  await ctx.clock.confirm();
  return getAbout(ctx);
}
