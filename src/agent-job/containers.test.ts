import { expect, test } from "vitest";
import { etcdContainer, etcdutlContainer } from "#agent-job/containers.ts";

const work = {
  name: "base",
  image: "example.test/etcd:v3.6.16",
  args: ["--data-dir=/data"],
  resources: undefined,
  volumes: [{ mount: { name: "etcd-data", mountPath: "/data" } }],
};

test("a program of etcd's image runs confined, with only the given volumes", () => {
  expect(etcdutlContainer(work)).toStrictEqual({
    name: "base",
    image: "example.test/etcd:v3.6.16",
    imagePullPolicy: "IfNotPresent",
    command: ["etcdutl", "--data-dir=/data"],
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "etcd-data", mountPath: "/data" }],
  });
  expect(etcdContainer(work)).toStrictEqual({ ...etcdutlContainer(work), command: ["etcd", "--data-dir=/data"] });
});

test("its image has the cluster's pull policy, and it has the given resources", () => {
  const resources = { limits: { memory: "1Gi" } };
  expect(etcdContainer({ ...work, pullPolicy: "Always", resources })).toMatchObject({
    imagePullPolicy: "Always",
    resources,
  });
});
