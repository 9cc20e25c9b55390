import {
  BACKUP_REASONS,
  PEER_REASONS,
  REASONS,
  RESTORE_REASONS,
  ROLE_REASONS,
  SCHEDULE_REASONS,
  USER_REASONS,
} from "#api/conditions.ts";
import { ROLE_REMEDIES, USER_REMEDIES } from "#api/remedies/access.ts";
import { CLUSTER_REMEDIES, PEER_REMEDIES } from "#api/remedies/cluster.ts";
import { BACKUP_REMEDIES, RESTORE_REMEDIES, SCHEDULE_REMEDIES } from "#api/remedies/jobs.ts";
import type { Care, Remedy } from "#api/remedies/remedy.ts";
import { page, table } from "./pages.ts";

type Reasons = Readonly<Record<string, string>>;
type Remedies = Readonly<Record<string, Care>>;

const KINDS: readonly (readonly [kind: string, reasons: Reasons, remedies: Remedies])[] = [
  ["EtcdCluster", REASONS, CLUSTER_REMEDIES],
  ["EtcdPeer", PEER_REASONS, PEER_REMEDIES],
  ["EtcdBackup", BACKUP_REASONS, BACKUP_REMEDIES],
  ["EtcdBackupSchedule", SCHEDULE_REASONS, SCHEDULE_REMEDIES],
  ["EtcdRestore", RESTORE_REASONS, RESTORE_REMEDIES],
  ["EtcdRole", ROLE_REASONS, ROLE_REMEDIES],
  ["EtcdUser", USER_REASONS, USER_REMEDIES],
];

/**
 * What each reason of a condition asks of a person, with an anchor for each, such as `etcdcluster-nospacealarm`.
 * @param runbooks text of docs/runbooks.md, which has a heading for each alert; empty when there is none
 */
export function failuresPage(runbooks: string): string {
  const sections = KINDS.flatMap(([kind, reasons, remedies]) => {
    const all = Object.entries(reasons).map(([reason, why]) => ({ reason, why, care: careOf(kind, remedies, reason) }));
    const rows = all.flatMap(({ reason, why, care }) =>
      care === "well" ? [] : [[anchored(kind, reason), why, care.itself, doneBy(care)]],
    );
    const well = all.filter(({ care }) => care === "well").map(({ reason }) => anchored(kind, reason));
    return [
      `## ${kind}`,
      table(["what you see", "why", "what happens by itself", "what you do"], rows),
      `Nothing is wrong at ${well.join(", ")}.`,
    ];
  });
  return page(
    "When something fails",
    "Start with `kubectl describe` of the object, such as `kubectl describe etcdcluster my-etcd`. Each of its conditions has a reason. Look up the reason below, under the kind of the object. The message of the condition names members, Secrets and fields.",
    "Steps of longer repairs: [repairs](troubleshooting.md). Meaning of each condition: [conditions](reference/conditions.md). Reasons of events: [events](reference/events.md). Known limits: [limits](limits.md).",
    ...sections,
    ...alertsIn(runbooks),
  );
}

function alertsIn(runbooks: string): readonly string[] {
  const alerts = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name = ""]) => name);
  if (alerts.length === 0) return [];
  const links = alerts.map((name) => `[${name}](runbooks.md#${name.toLowerCase()})`);
  return ["## Alerts", `Each alert has an entry with the same four parts: ${links.join(", ")}.`];
}

function careOf(kind: string, remedies: Remedies, reason: string): Care {
  const care = Object.hasOwn(remedies, reason) ? remedies[reason] : undefined;
  if (care === undefined)
    throw new Error(`${kind} has the reason ${reason}, but src/api/remedies has no remedy for it.`);
  return care;
}

function anchored(kind: string, reason: string): string {
  return `<a id="${kind}-${reason}"></a>`.toLowerCase() + `\`${reason}\``;
}

function doneBy({ you, see }: Remedy): string {
  return see === undefined ? you : `${you} ([more](${see}))`;
}
