import { describe, expect, test } from "vitest";
import { WAIVE_ANNOTATION } from "#api/names.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { waiverRefusals } from "#webhooks/checks/waivers.ts";

const NOW_MS = Date.UTC(2026, 10, 22, 11);
const END = "until 2026-11-22T12:00:00Z";

function waiving(text: string) {
  return cluster({ annotations: { [WAIVE_ANNOTATION]: text } }).cluster;
}

describe("the waiver annotation's waivers", () => {
  const before = waiving(`keep-quorum ${END}`);
  const cases = [
    {
      name: "are accepted for a guard that may be waived",
      now: `MembersReady ${END}`,
      before: cluster().cluster,
      refused: 0,
    },
    {
      name: "are refused for a guard that protects data",
      now: `keep-quorum ${END}`,
      before: cluster().cluster,
      refused: 1,
    },
    {
      name: "are refused for a guard that protects data on a new cluster",
      now: `fence ${END}`,
      before: undefined,
      refused: 1,
    },
    {
      name: "are refused without an end, each",
      now: "MembersReady, MembersHealthy",
      before: cluster().cluster,
      refused: 2,
    },
    {
      name: "are refused when they last too long",
      now: "MembersReady until 2026-11-29T12:00:00Z",
      before: cluster().cluster,
      refused: 1,
    },
    {
      name: "are accepted when they last too long and are unchanged",
      now: "MembersReady until 2026-11-29T12:00:00Z",
      before: waiving("MembersReady until 2026-11-29T12:00:00Z"),
      refused: 0,
    },
    { name: "are accepted when they are invalid and unchanged", now: `keep-quorum ${END}`, before, refused: 0 },
    {
      name: "are refused when one is added to an unchanged one",
      now: `keep-quorum ${END}, fence ${END}`,
      before,
      refused: 1,
    },
  ];
  test.each(cases)("$name", ({ now, before: was, refused }) => {
    const refusals = waiverRefusals(waiving(now), was, NOW_MS);
    expect(refusals).toHaveLength(refused);
    for (const { field, message } of refusals)
      expect(`${field}: ${message}`).toMatch(
        /^metadata\.annotations\[etcd\.improbable\.io\/waive\]: "[^"]+" (cannot be waived|has no end|would hold for too long); /,
      );
  });
});
