import { OperatorError } from "#base/error.ts";
import { bounded, type Fate, type LeaseServer } from "#kit/servers/kube-lease-server.ts";
import type { FakeClock } from "#kit/time/fake-clock.ts";
import { GroupLease } from "#shards/group-lease.ts";
import { rollOf } from "#shards/lease-roll.ts";

export const GROUP = "shards-rule2-of-3";

/** One process that shares the lease of its group. */
export function member(
  process: string,
  server: LeaseServer,
  clock: FakeClock,
  { group = GROUP, travelMs = 0, random = 0.5 }: { group?: string; travelMs?: number; random?: number } = {},
) {
  const stop = new AbortController();
  const self = {
    fate: "arrives" as Fate,
    /** The fate of its writes; undefined: as of all its calls. */
    writes: undefined as Fate | undefined,
    patches: "allowed" as "allowed" | "refused",
    travelMs,
    stands: true,
    rivals: [] as string[],
    sentPatches: 0,
    /** When it sent the answered calls, and their verbs. */
    answered: [] as { verb: "get" | "patch"; sentMs: number }[],
  };
  const travel = (): Promise<void> => (self.travelMs === 0 ? Promise.resolve() : clock.sleep(self.travelMs));
  const reads = server.client(() => self.fate, travel);
  const writes = server.client(() => self.writes ?? self.fate, travel);
  const noted = async <T>(verb: "get" | "patch", call: Promise<T>): Promise<T> => {
    const sentMs = clock.monotonicMs();
    if (verb === "patch") self.sentPatches += 1;
    const answer = await call;
    self.answered.push({ verb, sentMs });
    return answer;
  };
  const lease = new GroupLease({
    client: bounded(
      {
        ...writes,
        get: (resource, ref, options) => noted("get", reads.get(resource, ref, options)),
        patch: (resource, ref, patch, options) =>
          self.patches === "allowed"
            ? noted("patch", writes.patch(resource, ref, patch, options))
            : Promise.reject(new OperatorError("KubeForbidden", "no patches")),
      },
      clock,
    ),
    namespace: "default",
    name: "operator",
    group,
    process,
    clock,
    random: () => random,
    onRival: (holder) => self.rivals.push(holder),
  });
  const done = lease.run(stop.signal, () => self.stands);
  /** Like `leave`, but the caller moves the time. */
  const end = (): Promise<void> => {
    stop.abort();
    return done.then(() => lease.leave());
  };
  const leave = async (): Promise<void> => {
    const left = end();
    await clock.advance(5_000);
    await left;
  };
  return Object.assign(self, { lease, stop, end, leave });
}

/** Names of the processes on the lease's roll. */
export const namesOn = (server: LeaseServer) => [...rollOf(server.lease, GROUP).keys()].toSorted();
export const holderOf = (server: LeaseServer) => server.lease?.spec?.holderIdentity;

export type Member = ReturnType<typeof member>;
