import { expect, test } from "vitest";
import { agentSettings, type JobPodTemplate } from "#agent-job/pod-template.ts";
import { DEFAULT_AGENT_RESOURCES } from "#api/agent-resources.ts";

const own = { limits: { memory: "1Gi" } };

test.each<[string, JobPodTemplate, object]>([
  ["there is no template", undefined, DEFAULT_AGENT_RESOURCES],
  ["the template is empty", {}, DEFAULT_AGENT_RESOURCES],
  ["its spec is empty", { spec: {} }, DEFAULT_AGENT_RESOURCES],
  ["its resources are empty", { spec: { resources: {} } }, DEFAULT_AGENT_RESOURCES],
  ["its requests and limits are empty", { spec: { resources: { requests: {}, limits: {} } } }, DEFAULT_AGENT_RESOURCES],
  ["it has only limits", { spec: { resources: own } }, own],
])("resources of the agent's containers when %s", (_, template, expected) =>
  expect(agentSettings(template).resources).toEqual(expected),
);
