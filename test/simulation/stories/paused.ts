import { KEY_FILE } from "#api/names.ts";
import type { Secret } from "#kube/kinds.ts";
import { type Certified, certified } from "./certified.ts";
import type { Story } from "./scene.ts";

// A pause, or a sleep, that lasts longer than every certificate of the cluster.

const LIFE = { provider: "Operator", duration: "2h", renewBefore: "45m" } as const;
const LEAVES = ["peer-tls", "server-tls", "operator-tls", "client"] as const;
const CAS = ["peer-ca", "client-ca"] as const;
const LONGER_MS = 2.5 * 3_600_000;
const WAKES_MS = 5 * 60_000;

function keysOf(of: Certified, names: readonly string[]): readonly (string | undefined)[] {
  return names.map((name) => (of.secret(name) as Secret).data?.[KEY_FILE]);
}

/** Waits until every certificate has expired or was renewed. @returns the first problem of the Secrets */
async function outlast(of: Certified): Promise<string | undefined> {
  const [leaves, cas] = [keysOf(of, LEAVES), keysOf(of, CAS)];
  await of.forMs(LONGER_MS);
  const same = LEAVES.filter((_, n) => keysOf(of, LEAVES)[n] === leaves[n]);
  if (same.length > 0) return `not renewed: ${same.join(", ")}`;
  const other = CAS.filter((_, n) => keysOf(of, CAS)[n] !== cas[n]);
  if (other.length > 0) return `rotated: ${other.join(", ")}`;
  return of.restarts().length > 0 ? `members were restarted: ${of.restarts()}` : of.broken[0];
}

/**
 * The cluster is paused for longer than its certificates last. Members and clients are served during the pause and
 * after it.
 */
export const certificatesExpireInPause: Story = async () => {
  const of = await certified({ peer: LIFE, client: LIFE });
  of.edit({ paused: true });
  const wrong = (await outlast(of)) ?? of.wrong();
  if (wrong !== undefined) return `in the pause: ${wrong}`;
  of.edit({ paused: false });
  await of.forMs(WAKES_MS);
  return of.wrong();
};

/** The cluster sleeps for longer than its certificates last, and wakes with valid ones. */
export const certificatesExpireInSleep: Story = async () => {
  const of = await certified({ peer: LIFE, client: LIFE });
  of.edit({ replicas: 0 });
  const wrong = await outlast(of);
  if (wrong !== undefined) return `asleep: ${wrong}`;
  of.edit({ replicas: 3 });
  await of.forMs(WAKES_MS);
  return of.wrong();
};
