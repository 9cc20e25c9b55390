import { expect, test } from "vitest";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { present } from "#base/observed.ts";
import { issuer } from "#certificates/issue.ts";
import { etcdOf, userLook } from "#kit/snapshots/access.ts";
import { born } from "#kit/snapshots/cluster.ts";
import type { Draft, Secret } from "#kube/kinds.ts";
import { actOnUser, type UserWrites } from "#user/act.ts";
import { bindingFactsOf } from "#user/facts.ts";
import { planUser } from "#user/plan.ts";

/** Labels and annotations of spec.bindingSecret. */
type Given = NonNullable<NonNullable<EtcdUser["spec"]["bindingSecret"]>["metadata"]>;

/** The API server with one binding. */
class Binding {
  live: Secret | undefined;

  /** Writes the binding until it is as wanted. @returns why it was written, each time */
  async written(given?: Given): Promise<readonly string[]> {
    const done: string[] = [];
    for (let n = 0; n < 5; n++) {
      const bound = this.live && bindingFactsOf(this.live);
      const spec = given === undefined ? {} : { bindingSecret: { metadata: given } };
      const snapshot = userLook({ cluster: etcdOf(null), bound: null, spec });
      const plan = planUser(bound === undefined ? snapshot : { ...snapshot, binding: present(bound) });
      if (plan.next !== "step" || plan.step.do !== "writeBinding") break;
      done.push(plan.because);
      await actOnUser(
        this.#writes(),
        plan.step,
        bound === undefined ? snapshot : { ...snapshot, binding: present(bound) },
        new AbortController().signal,
      );
    }
    return done;
  }

  #writes(): UserWrites {
    const kube = {
      get: () => Promise.resolve(this.live),
      create: (_: unknown, draft: Draft<Secret>) => {
        this.live = born<Secret>(draft);
        return Promise.resolve(this.live);
      },
      replace: (_: unknown, draft: Secret) => {
        this.live = {
          ...draft,
          metadata: { ...draft.metadata, resourceVersion: `${Number(draft.metadata.resourceVersion) + 1}` },
        };
        return Promise.resolve(this.live);
      },
    } as unknown as UserWrites["kube"];
    const access = {} as UserWrites["access"];
    return { kube, access, issuer, bindings: { forget: () => undefined } };
  }
}

const DIFFERS = "Secret app-binding is written: its labels or annotations differ from spec.bindingSecret";
const own = {
  "app.kubernetes.io/name": "etcd-binding",
  "app.kubernetes.io/managed-by": "etcd-cluster-operator",
  "etcd.improbable.io/user-name": "app",
};

test("labels and annotations of spec.bindingSecret are added, changed and removed, with the same password", async () => {
  const binding = new Binding();
  const shown = () => {
    const { labels, annotations = {} } = binding.live?.metadata ?? {};
    return [labels, Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith("etcd.")))];
  };
  expect(await binding.written()).toEqual(["Secret app-binding is written: it does not exist"]);
  const password = binding.live?.data?.password;
  expect(shown()).toEqual([own, {}]);
  expect(await binding.written({ labels: { team: "a" }, annotations: { copy: "x" } })).toEqual([DIFFERS]);
  expect(shown()).toEqual([{ ...own, team: "a" }, { copy: "x" }]);
  const { metadata } = binding.live!;
  const labels = { ...metadata.labels, mine: "m" };
  const annotations = { ...metadata.annotations, mine: "m", copy: "changed" };
  binding.live = { ...binding.live!, metadata: { ...metadata, labels, annotations } };
  expect(await binding.written({ labels: { team: "a" }, annotations: { copy: "x" } })).toEqual([DIFFERS]);
  expect(shown()).toEqual([
    { ...own, team: "a", mine: "m" },
    { copy: "x", mine: "m" },
  ]);
  expect(await binding.written({ labels: { tier: "b" } })).toEqual([DIFFERS]);
  expect(shown()).toEqual([{ ...own, tier: "b", mine: "m" }, { mine: "m" }]);
  expect(await binding.written()).toEqual([DIFFERS]);
  expect(shown()).toEqual([{ ...own, mine: "m" }, { mine: "m" }]);
  expect(binding.live?.data?.password).toBe(password);
});
