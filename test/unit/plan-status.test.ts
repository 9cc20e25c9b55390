import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { NEWER, withCrashing } from "#kit/snapshots/cluster-rolling.ts";

function asking(text: string, given: Parameters<typeof cluster>[0] = {}): ClusterSnapshot {
  return cluster({ ...given, annotations: { [DRY_RUN_ANNOTATION]: text } });
}

/** A cluster with a member lost for two minutes. */
const LOST = sickFor(asking("", { down: ["my-etcd-2"] }), "my-etcd-2", 120_000);

function lost(edit: object, more: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  const { cluster: given } = asking(JSON.stringify(edit), { down: ["my-etcd-2"] });
  const silent = withCrashing({ ...LOST, cluster: given }, "my-etcd-2");
  return { ...silent, ...more };
}

describe("status.dryRun", () => {
  test("is absent without the dry-run annotation", () => expect(planStatus(cluster())).toBeUndefined());

  test("is absent while the cluster is deleted", () => {
    expect(planStatus(asking('{"replicas":5}', { deleting: true }))).toBeUndefined();
  });

  test("has the forecast of the edit in the dry-run annotation", () => {
    const given = asking('{"version":"3.6.17"}');
    const wanted = { ...given, cluster: { ...given.cluster, spec: { ...given.cluster.spec, ...NEWER } } };
    expect(planStatus(given)).toEqual({ edit: '{"version":"3.6.17"}', ...forecast(wanted) });
  });

  test("reports what is wrong with an invalid edit", () => {
    expect(planStatus(asking("true"))).toEqual({
      edit: "true",
      outcome: "Refused",
      message: expect.stringMatching(
        /^metadata\.annotations\[etcd\.improbable\.io\/dry-run\]: it is "true"; it must be a JSON object/,
      ),
    });
  });

  test("contains at most 1,000 characters of the edit", () => {
    expect(planStatus(asking("x".repeat(2_000)))?.edit).toBe("x".repeat(1_000));
  });

  test("predicts replacements with replacement.after of the edit", () => {
    expect(planStatus(lost({}))?.steps).toBeUndefined();
    expect(planStatus(lost({ replacement: { policy: "WhenLost", after: "1m" } }))?.steps?.[0]).toMatchObject({
      rule: "ReplaceLost",
      member: "my-etcd-2",
    });
    expect(planStatus(lost({ replacement: { policy: "WhenLost", after: "1m" } }))?.outcome).toBe("Done");
    expect(
      planStatus(lost({ replacement: { policy: "WhenLost", after: "3m" } }, { replaceAfterMs: 60_000 }))?.steps,
    ).toBeUndefined();
    expect(planStatus(lost({ replacement: { policy: "Never" } }, { replaceAfterMs: 60_000 }))?.message).toContain(
      "policy is Never",
    );
    const defaultTimes = { replaceAfterMs: 60_000, memberTimeoutMs: 600_000 };
    expect(
      planStatus(lost({ replacement: { policy: "WhenLost", after: "now" } }, { defaultTimes }))?.steps,
    ).toHaveLength(13);
  });

  test("predicts waiting times with memberTimeout of the edit", () => {
    const silent = (edit: object) => ({ ...lost(edit), pods: asking("", { down: ["my-etcd-2"] }).pods });
    expect(planStatus(silent({}))?.outcome).toBe("Done");
    expect(planStatus(silent({ updateStrategy: { memberTimeout: "1m" } }))?.outcome).toBe("Waits");
  });
});
