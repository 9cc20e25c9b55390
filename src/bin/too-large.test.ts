import { expect, test } from "vitest";
import { failingStatus as accessStatus } from "#access/word.ts";
import { failingStatus as backupStatus } from "#backup/status.ts";
import { failingStatus as clusterStatus } from "#cluster/status.ts";
import { failingStatus as peerStatus } from "#peer/status.ts";
import { failingStatus as restoreStatus } from "#restore/status.ts";
import { failingStatus as scheduleStatus } from "#schedule/status.ts";

const object = { metadata: { generation: 1 }, status: { conditions: [] } } as never;

test.each([
  ["an EtcdCluster", clusterStatus],
  ["an EtcdPeer", peerStatus],
  ["an EtcdBackup", backupStatus],
  ["an EtcdBackupSchedule", scheduleStatus],
  ["an EtcdRestore", restoreStatus],
  ["an EtcdRole or EtcdUser", accessStatus],
] as const)("a pass of %s that fails sets the reason InternalError or ObjectTooLarge", (_, failingStatus) => {
  const reasonsOf = ({ conditions = [] }: { conditions?: readonly { reason: string }[] | undefined }) => [
    ...new Set(conditions.map(({ reason }) => reason)),
  ];
  expect(reasonsOf(failingStatus(object, "it fails", 0))).toEqual(["InternalError"]);
  expect(reasonsOf(failingStatus(object, "it is too large", 0, "ObjectTooLarge"))).toEqual(["ObjectTooLarge"]);
});
