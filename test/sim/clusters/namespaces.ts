/** The namespaces of a world, the same in all of its clusters. */

/** Where the workload is that is checked. */
export const namespace = "default";
/** Where Deployments without pods are, which are checked too. */
export const sourceNamespace = "sources";
/** Where a tool changes all Deployments at once. */
export const massNamespace = "mass";
/** Where people work whose objects are out of order, and whom no checker watches over. */
export const sideNamespace = "side";
