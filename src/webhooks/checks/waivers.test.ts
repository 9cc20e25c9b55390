import { describe, expect, test } from "vitest";
import { WAIVE_ANNOTATION } from "#api/names.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { waiverRefusals } from "#webhooks/checks/waivers.ts";

const NOW_MS = Date.UTC(2026, 10, 22, 11);
const END = "until 2026-11-22T12:00:00Z";

function waiving(text: string) {
  return cluster({ annotations: { [WAIVE_ANNOTATION]: text } }).cluster;
}

describe("waivers", () => {
  const before = waiving(`keep-quorum ${END}`);
  const cases = [
    { name: "that are valid are accepted", now: `members-ready ${END}`, before: cluster().cluster, refused: 0 },
    {
      name: "for the protection of data are refused",
      now: `keep-quorum ${END}`,
      before: cluster().cluster,
      refused: 1,
    },
    {
      name: "for the protection of data are refused on a new cluster",
      now: `fence ${END}`,
      before: undefined,
      refused: 1,
    },
    {
      name: "without an end are refused, each",
      now: "members-ready, members-healthy",
      before: cluster().cluster,
      refused: 2,
    },
    {
      name: "for too long are refused",
      now: "members-ready until 2026-11-29T12:00:00Z",
      before: cluster().cluster,
      refused: 1,
    },
    {
      name: "for too long are accepted when they are unchanged",
      now: "members-ready until 2026-11-29T12:00:00Z",
      before: waiving("members-ready until 2026-11-29T12:00:00Z"),
      refused: 0,
    },
    { name: "that are invalid are accepted when they are unchanged", now: `keep-quorum ${END}`, before, refused: 0 },
    {
      name: "that are new are checked beside an unchanged one",
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
