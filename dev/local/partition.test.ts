import { expect, test } from "vitest";
import { partitionRules } from "./partition.ts";

test("partition: the rule that accepts the kubelet's probes is before the rule that drops", () => {
  const rules = partitionRules(2, "/eco-0/kubelet-2");
  const passes = rules.indexOf('oifname "cni2" socket cgroupv2 level 2 "eco-0/kubelet-2" accept');
  expect(passes).toBeGreaterThan(0);
  expect(passes).toBeLessThan(rules.lastIndexOf('oifname "cni2" drop'));
});

test("partition: without the kubelet's cgroup the rules accept no probes", () => {
  expect(partitionRules(2, undefined)).not.toContain("socket");
});

test("partition: the rules contain only addresses of the node", () => {
  const addresses = new Set(partitionRules(3, undefined).match(/10\.88\.\d+\.\d+/g));
  expect([...addresses].sort()).toEqual(["10.88.0.103", "10.88.0.203", "10.88.3.1"]);
});
