/**
 * Informers: list and watch as a state machine (state.ts), its loop (reflector.ts), the store and its handlers
 * (cache.ts), the frames of a watch (watch-stream.ts), lists and barriers (list-pages.ts).
 */
export { createInformer } from "./reflector.ts";
export { listAll, listBarrier } from "./list-pages.ts";
