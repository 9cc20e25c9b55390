import { ordinalOf } from "#api/names.ts";
import { agoText, lengthText } from "../age.ts";
import { COMMIT_BOUND_MS, isExceeded, latencyText, networkBounds, SYNC_BOUND_MS } from "../bounds.ts";
import { nameOf, namespaceOf, type Values } from "../fields.ts";
import { type Checked, type CheckedMember, checkState, type Finding, findingsOf, roundTripsOf } from "../findings.ts";
import { type Cell, type Line, type Piece, table, withoutEmptyColumns } from "../lines.ts";
import type { Counted, Latency, Speed } from "../reading.ts";
import { widthOf, wrapped } from "../text.ts";
import { EXIT_CODES, type State } from "../verdict.ts";
import { roleText } from "./members.ts";
import { STATUS_WIDTH, stateCell } from "./status.ts";

/** Columns of a member's name; a longer one is shown by its number alone, so that the table fits. */
const MOST_NAME = 20;
const INDENT = "  ";
/** Marks of values by what they are based on. */
const MARKS: Readonly<Record<Latency["basis"], string>> = { window: "", start: "*", few: "?" };

/** The last line when nothing is amiss. */
const VERDICTS: Readonly<Partial<Record<State, string>>> = {
  well: "The disks and the network are fast enough for etcd.",
  asleep: "The cluster sleeps: there is nothing to measure.",
};

/** The screen of `check`: a row for each member, the round trips between them, and a paragraph for each finding. */
export function checkScreen(checked: Checked): readonly Line[] {
  const state = checkState(checked);
  const { cluster, members } = checked;
  const read = members.filter(({ found }) => "speed" in found).length;
  const within = read === 0 ? "" : ` for ${lengthText(checked.seconds * 1_000)}`;
  const count = state === "asleep" ? "" : `${read} of ${members.length + checked.left} members measured${within}`;
  const head: Line = [
    { text: nameOf(cluster), tone: "strong" },
    "  ",
    stateCell(state),
    "  ",
    `${namespaceOf(cluster)}  ${count}`,
  ];
  const verdict = VERDICTS[state];
  return [
    head,
    ...(read === 0 ? [] : [...membersTable(checked), ...roundTripTable(checked), ...legend(checked)]),
    ...findingsOf(checked).flatMap(findingLines),
    ...(verdict === undefined ? [] : [[verdict]]),
  ];
}

function membersTable(checked: Checked): readonly Line[] {
  const titles = ["member", "role", "up", "fsync", "commit", "elections", "failed writes", "slow applies", "node"];
  const bounds = ["bound", "", "", `${SYNC_BOUND_MS} ms`, `${COMMIT_BOUND_MS} ms`, "", "", "", ""];
  const rows = checked.members.map((member): Line => {
    const { role, node, found } = member;
    const speed = "speed" in found ? found.speed : undefined;
    return [
      shortName(checked, member.name),
      roleText(role),
      speed?.startMs === undefined ? "" : agoText(new Date(speed.startMs).toISOString(), checked.nowMs),
      ...(speed === undefined
        ? [{ text: "not read", tone: "warn" } as const, "", "", "", ""]
        : [
            latencyCell(speed.sync, SYNC_BOUND_MS),
            latencyCell(speed.commit, COMMIT_BOUND_MS),
            countCell(speed.counters.leaderChanges),
            countCell(speed.counters.failedProposals),
            countCell(speed.counters.slowApplies),
          ]),
      node,
    ];
  });
  return table(withoutEmptyColumns([titles.map(dim), ...rows, bounds.map(dim)]));
}

function roundTripTable(checked: Checked): readonly Line[] {
  const { members, cluster } = checked;
  const { roundTripMs } = networkBounds(cluster);
  if (members.length < 2) return [];
  const numbers = members.map(({ name }) => numberOf(checked, name));
  const rows = members.map((member): Line => {
    const trips = roundTripsOf(checked, member);
    const cells = members.map(({ name }): Cell => {
      if (name === member.name || "unread" in member.found) return "";
      return latencyCell(trips.get(name), roundTripMs);
    });
    return [`from ${numberOf(checked, member.name)}`, ...cells];
  });
  return table([["trip to", ...numbers].map(dim), ...rows, ["bound", `${roundTripMs} ms`].map(dim)]);
}

function legend(checked: Checked): readonly Line[] {
  const within = lengthText(checked.seconds * 1_000);
  const speeds = checked.members.flatMap(({ found }) => ("speed" in found ? [found.speed] : []));
  const used = new Set(speeds.flatMap(latenciesIn).map(({ basis }) => basis));
  const texts = [
    `Times: 99 % were faster. Counts: since the start of the member; +n within the last ${within}.`,
    used.has("start") ? `* since the start of the member: ${within} had too few; a longer --for may have enough` : "",
    used.has("few") ? "? since the start of the member, and too few to judge" : "",
  ];
  return texts.filter((text) => text !== "").map((text): Line => [dim(text)]);
}

function latenciesIn({ sync, commit, roundTrips }: Speed): readonly Latency[] {
  return [sync, commit, ...roundTrips.values()].filter((each) => each !== undefined);
}

function latencyCell(latency: Latency | undefined, boundMs: number): Cell {
  if (latency === undefined) return dim("none");
  const text = `${latencyText(latency)}${MARKS[latency.basis]}`;
  return isExceeded(latency, boundMs) ? { text, tone: "bad" } : text;
}

function countCell(counted: Counted | undefined): Cell {
  if (counted === undefined) return dim("none");
  const { total, inWindow } = counted;
  return inWindow === 0 ? String(total) : { text: `${total} +${inWindow}`, tone: "warn" };
}

function findingLines({ state, text }: Finding): readonly Line[] {
  const tone = state === "not serving" ? "bad" : "warn";
  return wrapped(text, STATUS_WIDTH - INDENT.length).map(
    (line, n): Line => [n === 0 ? { text: "! ", tone } : INDENT, line],
  );
}

/** The name of a member, or its number when the name would leave too little for the other columns. */
function shortName(checked: Checked, name: string): string {
  return widthOf(name) <= MOST_NAME ? name : `…${numberOf(checked, name)}`;
}

/** `-0` for member `my-etcd-0`. */
function numberOf({ cluster }: Checked, name: string): string {
  return `-${ordinalOf(nameOf(cluster), name) ?? "?"}`;
}

function dim(text: string): Piece {
  return { text, tone: "dim" };
}

/** The answer as a value of `-o json` and `-o yaml`. Times are milliseconds. */
export function checkAsValue(checked: Checked): Values {
  const { cluster, members, seconds, left } = checked;
  const { heartbeatMs, electionMs, roundTripMs } = networkBounds(cluster);
  const state = checkState(checked);
  return {
    state,
    exitCode: EXIT_CODES[state],
    cluster: { namespace: namespaceOf(cluster), name: nameOf(cluster) },
    windowSeconds: seconds,
    bounds: { fsyncMs: SYNC_BOUND_MS, commitMs: COMMIT_BOUND_MS, roundTripMs, heartbeatMs, electionMs },
    members: members.map((member) => memberValue(checked, member)),
    membersLeftOut: left,
    findings: findingsOf(checked).map(({ kind, state: of, text }) => ({ kind, state: of, text })),
  };
}

function memberValue(checked: Checked, member: CheckedMember): Values {
  const { name, role, node, found } = member;
  if ("unread" in found) return { name, role, node, unread: found.unread.why };
  const { startMs, sync, commit, counters } = found.speed;
  const trips = [...roundTripsOf(checked, member)].map(([to, trip]) => [to, trip ?? null]);
  return {
    name,
    role,
    node,
    startTime: startMs === undefined ? null : new Date(startMs).toISOString(),
    fsync: sync ?? null,
    commit: commit ?? null,
    roundTrips: Object.fromEntries(trips),
    ...Object.fromEntries(Object.entries(counters).map(([counter, counted]) => [counter, counted ?? null])),
  };
}
