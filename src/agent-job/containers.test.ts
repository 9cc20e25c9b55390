import { expect, test } from "vitest";
import { etcdContainer, etcdutlContainer } from "#agent-job/containers.ts";

const work = {
  name: "base",
  image: "example.test/etcd:v3.6.16",
  args: ["--data-dir=/data"],
  resources: undefined,
  volumes: [{ mount: { name: "etcd-data", mountPath: "/data" } }],
};

test("a container with etcd's image has a restricted security context and only the given volumes", () => {
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

test("a container with etcd's image has the given pull policy and resources", () => {
  const resources = { limits: { memory: "1Gi" } };
  expect(etcdContainer({ ...work, pullPolicy: "Always", resources })).toMatchObject({
    imagePullPolicy: "Always",
    resources,
  });
});
