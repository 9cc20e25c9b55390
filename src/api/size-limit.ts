/**
 * Maximum size of an EtcdCluster's spec: characters of its JSON, and number of values. An EtcdPeer has parts of it
 * twice and two CA bundles, and must stay below `OBJECT_LIMIT`, or the operator could not manage the member. Pod
 * templates usually have a few kB.
 */
export const SPEC_LIMIT = { field: "spec", characters: 131_072, values: 5_000 } as const;
