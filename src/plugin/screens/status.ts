import { PAUSED_ANNOTATION } from "#api/names.ts";
import { agoText, lengthText } from "../age.ts";
import { eventViews } from "../events.ts";
import {
  annotationOf,
  at,
  conditionOf,
  itemsAt,
  nameOf,
  namespaceOf,
  numberAt,
  textAt,
  type Values,
} from "../fields.ts";
import { type Line, type Piece, table } from "../lines.ts";
import { type ClusterPicture, those, unreadLines } from "../picture.ts";
import { widthOf, wrapped } from "../text.ts";
import { amissIn, isBehind, type State, stateOf } from "../verdict.ts";
import { membersTable } from "./members.ts";
import { backupLine, certificatesLine, usersLine } from "./parts.ts";

/** Lines of the screen for a cluster of up to seven members: a terminal of the usual 24 lines shows it all. */
export const STATUS_LINES = 24;
/** Columns of the screen. */
export const STATUS_WIDTH = 100;
/** Most lines about conditions that are amiss; `why` shows all. */
const MOST_AMISS = 4;
/** Most lines about kinds that could not be read. */
const MOST_UNREAD = 3;

/** Most lines on which one of them continues. */
const MOST_CONTINUED = 2;
const INDENT = "        ";

const TONES = {
  well: "good",
  asleep: "dim",
  degraded: "warn",
  "not serving": "bad",
  "cannot tell": "warn",
} as const satisfies Record<State, Piece["tone"]>;

/** Text by the scheme with which members serve clients; nothing is shown until it is known. */
const TLS_TEXTS: Readonly<Record<string, string>> = { https: "TLS", http: "no TLS" };

/** The state with its colour. */
export function stateCell(state: State): Piece {
  return { text: state, tone: TONES[state] };
}

/** The screen of `status`. The last steps fill what is left of 24 lines. */
export function statusScreen(picture: ClusterPicture): readonly Line[] {
  const { cluster, nowMs } = picture;
  const facts: (readonly [string, Line])[] = [
    ["backup", backupLine(picture)],
    ["certs", certificatesLine(picture)],
    ["users", usersLine(picture)],
    ["update", [updateText(cluster)]],
    ["waived", [waivedText(cluster, nowMs)]],
    ["doing", [doingText(cluster)]],
  ];
  const lines: readonly Line[] = [
    headLine(picture),
    quorumLine(cluster),
    ...membersTable(picture),
    ...labelled(facts.filter(([, line]) => line.length > 0 && line[0] !== "")),
  ];
  const unread = unreadTexts(picture).map((text): Line => [{ text, tone: "dim" }]);
  const above = [...lines, ...amissLines(cluster, STATUS_LINES - lines.length - unread.length), ...unread];
  return [...above, ...stepLines(picture, STATUS_LINES - above.length)];
}

/** A line for each kind that could not be read; the last line names several when there are too many. */
function unreadTexts(picture: ClusterPicture): readonly string[] {
  const texts = unreadLines({
    "The peers of the cluster": picture.peers,
    "The pods of its members": picture.pods,
    "The schedules of the cluster": picture.schedules,
    "Its users": picture.users,
    "Its events": picture.events,
  });
  if (texts.length <= MOST_UNREAD) return texts;
  const names = texts.slice(MOST_UNREAD - 1).map((text) => text.slice(0, text.indexOf(" cannot be read: ")));
  return [...texts.slice(0, MOST_UNREAD - 1), `Also unread: ${names.join(", ")}; -o json has the reasons.`];
}

function labelled(facts: readonly (readonly [string, Line])[]): readonly Line[] {
  return facts.map(([label, line]): Line => [{ text: label.padEnd(8), tone: "dim" }, ...line]);
}

function headLine({ cluster, nowMs }: ClusterPicture): Line {
  const state = stateOf(cluster);
  const reason = conditionOf(cluster, "Ready")?.reason ?? "";
  const isPaused = at(cluster, "spec", "paused") === true || annotationOf(cluster, PAUSED_ANNOTATION) === "true";
  const parts = [
    namespaceOf(cluster),
    textAt(cluster, "status", "readyMembers"),
    textAt(cluster, "status", "version") || textAt(cluster, "spec", "version"),
    reason,
    TLS_TEXTS[textAt(cluster, "status", "tls", "client", "scheme")] ?? "",
    at(cluster, "status", "auth", "enabled") === true ? "auth" : "",
    isPaused ? "PAUSED" : "",
    isBehind(cluster) ? "(not yet read by the operator)" : "",
    `age ${agoText(at(cluster, "metadata", "creationTimestamp"), nowMs)}`,
  ];
  const rest = parts.filter((part) => part !== "").join("  ");
  return [{ text: nameOf(cluster), tone: "strong" }, "  ", stateCell(state), "  ", rest];
}

function quorumLine(cluster: Values): Line {
  const members = itemsAt(cluster, "status", "members");
  const voters = members.filter((each) => textAt(each, "role") !== "Learner");
  if (voters.length === 0) return ["quorum  no member is known"];
  const healthy = voters.filter((each) => textAt(each, "health") === "Healthy").length;
  const margin = healthy - (Math.floor(voters.length / 2) + 1);
  const may = margin < 0 ? `${-margin} too few` : margin === 0 ? "may lose none" : `may lose ${margin}`;
  const learners = members.length - voters.length;
  const more = learners === 0 ? "" : `, and ${learners} ${learners === 1 ? "learner" : "learners"}`;
  const text = `healthy voters: ${healthy} of ${voters.length}, ${may}${more}`;
  const claims = numberAt(cluster, "status", "quarantinedClaims", "count") ?? 0;
  const kept = claims === 0 ? "" : `; claims put aside: ${claims}`;
  return [{ text: "quorum  ", tone: "dim" }, margin < 0 ? { text, tone: "bad" } : text, kept];
}

function updateText(cluster: Values): string {
  const update = at(cluster, "status", "update");
  const dryRun = textAt(cluster, "status", "dryRun", "outcome");
  const plan = dryRun === "" ? "" : `a plan is asked for: ${dryRun}`;
  if (update === undefined) return plan;
  const [from, to] = [textAt(update, "from"), textAt(update, "to")];
  const release = from === to ? `to other settings of ${to}` : `from ${from} to ${to}`;
  const done = at(update, "updated");
  const count = Array.isArray(done) ? done.length : 0;
  const stopped = textAt(update, "stopped", "member");
  if (stopped !== "") return `stopped: ${stopped} did not become healthy ${release}`;
  return [`${release}: ${count} updated`, plan].filter((part) => part !== "").join("; ");
}

function waivedText(cluster: Values, nowMs: number): string {
  return itemsAt(cluster, "status", "waivers")
    .map((each) => {
      const end = Date.parse(textAt(each, "until"));
      return `${textAt(each, "check")} for ${Number.isNaN(end) ? "?" : lengthText(end - nowMs)}`;
    })
    .join(", ");
}

function doingText(cluster: Values): string {
  const progressing = conditionOf(cluster, "Progressing");
  if (progressing === undefined) return "";
  return progressing.status === "False" && progressing.reason === "Settled"
    ? "nothing"
    : `${progressing.reason}: ${progressing.message}`;
}

/**
 * The conditions that are amiss. Those with the same reason and message share a line, and long texts continue below
 * while there is room.
 */
function amissLines(cluster: Values, room: number): readonly Line[] {
  const byText = new Map<string, string[]>();
  for (const { type, reason, message } of amissIn(cluster)) {
    const text = `${reason}: ${message}`;
    byText.set(text, [...(byText.get(text) ?? []), type]);
  }
  const blocks = [...byText].map(([text, types]) => {
    const label = `! ${types.join(", ")}  `;
    const [first = "", ...more] = wrapped(text, STATUS_WIDTH - widthOf(label));
    const rest = more.length === 0 ? [] : wrapped(more.join(" "), STATUS_WIDTH - INDENT.length);
    return [[{ text: label, tone: "warn" }, first] satisfies Line, ...rest.map((line): Line => [INDENT, line])];
  });
  let spare = room - Math.min(blocks.length, MOST_AMISS);
  const lines = blocks.slice(0, MOST_AMISS).flatMap(([first = [], ...more]) => {
    const shown = more.slice(0, Math.min(MOST_CONTINUED, Math.max(0, spare)));
    spare -= shown.length;
    return [first, ...shown];
  });
  const left = blocks.length - MOST_AMISS;
  return left > 0 ? [...lines.slice(0, -1), [`! more: kubectl etcd why ${nameOf(cluster)}`]] : lines;
}

/** The last events, at most so many lines. */
function stepLines({ events, nowMs }: ClusterPicture, most: number): readonly Line[] {
  const views = eventViews(those(events)).slice(0, Math.max(0, most));
  return table(
    views.map(
      ({ atMs, about, isWarning, reason, message }, n): Line => [
        { text: n === 0 ? "last  " : "", tone: "dim" },
        atMs === 0 ? "" : lengthText(nowMs - atMs),
        isWarning ? { text: reason, tone: "warn" } : reason,
        `${about}: ${message}`,
      ],
    ),
  );
}
