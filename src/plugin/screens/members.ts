import { PEER_LABEL } from "#api/names.ts";
import { agoText } from "../age.ts";
import { at, itemsAt, numberAt, textAt, textsAt, type Values } from "../fields.ts";
import { type Line, type Piece, table, withoutEmptyColumns } from "../lines.ts";
import { type ClusterPicture, those } from "../picture.ts";

/** Most members with a line. etcd advises at most seven; only hostile or broken objects list more. */
export const MOST_MEMBERS = 9;

const ROLES: Readonly<Record<string, string>> = { Leader: "leader", Voter: "follower", Learner: "learner" };

/** A line for each member, below titles. Columns without any value are left out. */
export function membersTable({ cluster, peers, pods, nowMs }: ClusterPicture): readonly Line[] {
  const members = itemsAt(cluster, "status", "members");
  const titles = ["member", "role", "id", "version", "health", "since", "node", "zone", "restarts", "note"];
  const updated = textsAt(cluster, "status", "update", "updated");
  const isUpdating = at(cluster, "status", "update") !== undefined;
  const rows = members.slice(0, MOST_MEMBERS).map((member): Line => {
    const name = textAt(member, "name");
    const pod = those(pods).find((each) => textAt(each, "metadata", "labels", PEER_LABEL) === name);
    const isUpdated = updated.includes(name) || at(member, "upToDate") === true;
    const notes = [
      textAt(member, "message"),
      isUpdating && isUpdated ? "updated" : "",
      leavingText(name, those(peers)),
    ];
    return [
      name,
      roleText(textAt(member, "role")),
      textAt(member, "id"),
      textAt(member, "version"),
      healthCell(textAt(member, "health")),
      agoText(at(member, "since"), nowMs),
      textAt(pod, "spec", "nodeName"),
      textAt(pod, "metadata", "labels", "topology.kubernetes.io/zone"),
      restartsText(pod),
      notes.filter((note) => note !== "").join("; "),
    ];
  });
  if (rows.length === 0) return [];
  const lines = table(withoutEmptyColumns([titles.map((text): Piece => ({ text, tone: "dim" })), ...rows]));
  const left = members.length - rows.length;
  return left > 0 ? [...lines, [`and ${left} more members`]] : lines;
}

/** A member's role in the status, as it is shown. */
export function roleText(role: string): string {
  return (Object.hasOwn(ROLES, role) ? ROLES[role] : undefined) ?? role;
}

function healthCell(health: string): Piece {
  const text = health.toLowerCase();
  return { text, tone: health === "Healthy" ? "good" : health === "Unhealthy" ? "bad" : "warn" };
}

/** Whether the EtcdPeer of the member is being deleted. */
function leavingText(name: string, peers: readonly Values[]): string {
  const peer = peers.find((each) => textAt(each, "metadata", "name") === name);
  return textAt(peer, "metadata", "deletionTimestamp") === "" ? "" : "leaves";
}

function restartsText(pod: Values | undefined): string {
  const counts = itemsAt(pod, "status", "containerStatuses").map((each) => numberAt(each, "restartCount") ?? 0);
  return counts.length === 0 ? "" : String(counts.reduce((sum, each) => sum + each, 0));
}
