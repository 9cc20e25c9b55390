import { lengthText } from "./age.ts";
import { COMMIT_BOUND_MS, isExceeded, latencyText, networkBounds, SYNC_BOUND_MS, TRIPS_IN_ELECTION } from "./bounds.ts";
import { nameOf, namespaceOf, type Values } from "./fields.ts";
import { type CounterName, ENOUGH_WRITES, type Latency, type Speed } from "./reading.ts";
import { type State, stateOf } from "./verdict.ts";

/** Least ratio of election timeout and heartbeat interval: etcd refuses less. */
const LEAST_RATIO = 5;
/** Advised intervals are multiples of this many milliseconds. */
const STEP_MS = 50;
/** Most members that a sentence names. */
const MOST_NAMED = 3;

/** Why a member could not be read. */
export interface Unread {
  /** A clause. */
  readonly why: string;
  readonly isRightMissing: boolean;
}

export interface CheckedMember {
  readonly name: string;
  /** Hexadecimal; "" when the status does not have it. */
  readonly id: string;
  /** Leader, Voter or Learner, as in the status of the EtcdCluster. */
  readonly role: string;
  readonly node: string;
  readonly found: { readonly speed: Speed } | { readonly unread: Unread };
}

/** Everything that `check` has read. */
export interface Checked {
  readonly nowMs: number;
  readonly cluster: Values;
  /** Length of the window between two readings. */
  readonly seconds: number;
  readonly members: readonly CheckedMember[];
  /** Members of the status beyond the bound, which were not read. */
  readonly left: number;
}

type Kind =
  | "not-serving"
  | "slow-fsync"
  | "slow-commit"
  | "slow-round-trip"
  | "leader-changes"
  | "failed-proposals"
  | "slow-applies"
  | "unread"
  | "too-few";

export interface Finding {
  readonly kind: Kind;
  readonly state: Exclude<State, "well" | "asleep">;
  /** Sentences: what is wrong, and what to do. */
  readonly text: string;
}

/** One value that may be beyond its bound. */
interface Measure {
  /** `my-etcd-0` or `my-etcd-0 to my-etcd-1`. */
  readonly where: string;
  readonly latency: Latency | undefined;
}

/** What is wrong and what could not be decided, the most severe first. */
export function findingsOf(checked: Checked): readonly Finding[] {
  return [
    ...servingFinding(checked),
    ...diskFindings(checked),
    ...roundTripFindings(checked),
    ...counterFindings(checked),
    ...unreadFindings(checked),
    ...fewFindings(checked),
  ];
}

/** A bound that is exceeded proves trouble, also when another member could not be read. */
export function checkState(checked: Checked): State {
  const states = findingsOf(checked).map(({ state }) => state);
  const worst = (["not serving", "degraded", "cannot tell"] as const).find((each) => states.includes(each));
  return worst ?? (stateOf(checked.cluster) === "asleep" ? "asleep" : "well");
}

/** Round trips of a member to the others of the status, by their names. */
export function roundTripsOf({ members }: Checked, member: CheckedMember): ReadonlyMap<string, Latency | undefined> {
  const trips = "speed" in member.found ? member.found.speed.roundTrips : new Map<string, Latency>();
  const others = members.filter(({ name, id }) => name !== member.name && id !== "");
  return new Map(others.map(({ name, id }) => [name, trips.get(id)]));
}

function servingFinding({ cluster, members }: Checked): readonly Finding[] {
  const name = nameOf(cluster);
  const state = stateOf(cluster);
  if (state === "not serving")
    return [
      {
        kind: "not-serving",
        state: "not serving",
        text: `${name} does not serve. For the reason, run: kubectl etcd why ${name}`,
      },
    ];
  if (members.length > 0 || state === "asleep") return [];
  return [{ kind: "unread", state: "cannot tell", text: `The status of EtcdCluster ${name} names no member.` }];
}

function diskFindings(checked: Checked): readonly Finding[] {
  const advice =
    "Keep other pods off the disk, or restore a backup into a new cluster with a StorageClass on a faster disk.";
  const slow = (kind: Kind, what: string, boundMs: number, of: (speed: Speed) => Latency | undefined) => {
    const measures = measured(checked).map(({ name, speed }) => ({ where: name, latency: of(speed) }));
    const text = slowText(measures, boundMs);
    if (text === "") return [];
    return [{ kind, state: "degraded", text: `${what} takes too long on ${text}. ${advice}` } as const];
  };
  return [
    ...slow("slow-fsync", "Making a write durable (WAL fsync)", SYNC_BOUND_MS, ({ sync }) => sync),
    ...slow("slow-commit", "A commit of the database", COMMIT_BOUND_MS, ({ commit }) => commit),
  ];
}

function roundTripFindings(checked: Checked): readonly Finding[] {
  const { heartbeatMs, electionMs, roundTripMs } = networkBounds(checked.cluster);
  const measures = checked.members.flatMap((member) =>
    [...roundTripsOf(checked, member)].map(([to, latency]): Measure => ({ where: `${member.name} to ${to}`, latency })),
  );
  const text = slowText(measures, roundTripMs);
  if (text === "") return [];
  const why = `The bound is the heartbeat interval (${heartbeatMs} ms) or a tenth of the election timeout (${electionMs} ms), whichever is shorter.`;
  const exceeded = measures.map(({ latency }) => latency).filter((each) => isExceeded(each, roundTripMs));
  const worstMs = Math.max(...exceeded.map(({ p99Ms }) => p99Ms));
  const neededMs = (Math.floor(worstMs / STEP_MS) + 1) * STEP_MS;
  const heartbeat = Math.max(heartbeatMs, neededMs);
  const election = Math.max(electionMs, neededMs * TRIPS_IN_ELECTION, heartbeat * LEAST_RATIO);
  const settings = `set spec.etcd.heartbeatInterval to ${heartbeat}ms and spec.etcd.electionTimeout to ${election}ms`;
  // Beyond the last bucket the true round trip is not known, so no setting can be named.
  const advice = exceeded.some(({ isAbove }) => isAbove)
    ? "Bring the members closer together."
    : `Bring the members closer together, or ${settings}, which restarts them one at a time.`;
  return [
    { kind: "slow-round-trip", state: "degraded", text: `The round trip is too long from ${text}. ${why} ${advice}` },
  ];
}

const COUNTED: Readonly<Record<CounterName, readonly [kind: Kind, what: string, advice: string]>> = {
  leaderChanges: [
    "leader-changes",
    "The leader changed",
    "Slow disks, a slow network or busy CPUs of nodes cause that, or a restart.",
  ],
  failedProposals: [
    "failed-proposals",
    "Writes failed inside etcd",
    "That happens while the leader changes or the quorum is lost, and ends with it.",
  ],
  slowApplies: [
    "slow-applies",
    "Requests took longer than 100 ms to apply",
    "Look for large ranges and transactions of clients, and for a busy CPU or disk.",
  ],
};

function counterFindings(checked: Checked): readonly Finding[] {
  return Object.entries(COUNTED).flatMap(([name, [kind, what, advice]]): readonly Finding[] => {
    const found = measured(checked).flatMap(({ name: member, speed }) => {
      const added = speed.counters[name as CounterName]?.inWindow ?? 0;
      return added > 0 ? [`${member} (${added})`] : [];
    });
    if (found.length === 0) return [];
    const within = `within ${lengthText(checked.seconds * 1_000)}`;
    return [{ kind, state: "degraded", text: `${what} ${within}: ${named(found)}. ${advice}` }];
  });
}

/** A line for each reason; members with the same reason share it. */
function unreadFindings({ cluster, members, left }: Checked): readonly Finding[] {
  const unread = members.flatMap(({ name, found }) => ("unread" in found ? [{ name, ...found.unread }] : []));
  const lines = [...Map.groupBy(unread, ({ why }) => why)].map(([why, same]) => {
    const advice = same.some(({ isRightMissing }) => isRightMissing)
      ? `Ask for this right in namespace ${namespaceOf(cluster)}: Kubernetes' ClusterRoles edit and admin have it. It opens every port of every pod, so no ClusterRole of the operator has it.`
      : "Check that the pods run, and that the API server may reach their port 2381.";
    return `No metrics of ${named(same.map(({ name }) => name))}: ${why}. ${advice}`;
  });
  const more = left === 0 ? [] : [`${left} more members are not read.`];
  return [...lines, ...more].map((text) => ({ kind: "unread", state: "cannot tell", text }));
}

function fewFindings(checked: Checked): readonly Finding[] {
  const few = measured(checked).flatMap(({ name, speed }) => {
    const counts = [["fsyncs", speed.sync] as const, ["commits", speed.commit] as const]
      .filter(([, latency]) => latency === undefined || latency.basis === "few")
      .map(([what, latency]) => `${latency?.count ?? 0} ${what}`);
    return counts.length === 0 ? [] : [`${name} (${counts.join(", ")})`];
  });
  const unknown = checked.members.flatMap((member) =>
    "unread" in member.found
      ? []
      : [...roundTripsOf(checked, member)].flatMap(([to, trip]) =>
          trip === undefined ? [`${member.name} to ${to}`] : [],
        ),
  );
  const texts = [
    few.length === 0
      ? ""
      : `Fewer than ${ENOUGH_WRITES} writes since the start of the member: ${named(few)}. Write to the cluster, and check again.`,
    unknown.length === 0
      ? ""
      : `No round trip is measured yet from ${named(unknown)}. etcd measures it every 30 s: check again later.`,
  ];
  return texts.filter((text) => text !== "").map((text) => ({ kind: "too-few", state: "cannot tell", text }));
}

/** Members that were read, with what was measured. */
function measured({ members }: Checked): readonly { readonly name: string; readonly speed: Speed }[] {
  return members.flatMap(({ name, found }) => ("speed" in found ? [{ name, speed: found.speed }] : []));
}

/** `my-etcd-2 (31 ms), my-etcd-0 (23 ms); it must be below 10 ms`, the slowest first; "" when none is too slow. */
function slowText(measures: readonly Measure[], boundMs: number): string {
  const slow = measures
    .flatMap(({ where, latency }) => (isExceeded(latency, boundMs) ? [{ where, latency }] : []))
    .sort((a, b) => b.latency.p99Ms - a.latency.p99Ms);
  if (slow.length === 0) return "";
  const texts = slow.map(({ where, latency }) => {
    const since = latency.basis === "start" ? " since its start" : "";
    return `${where} (${latencyText(latency)}${since})`;
  });
  return `${named(texts)}; it must be below ${boundMs} ms`;
}

function named(texts: readonly string[]): string {
  const left = texts.length - MOST_NAMED;
  return left > 0 ? `${texts.slice(0, MOST_NAMED).join(", ")} and ${left} more` : texts.join(", ");
}
