/** The defaults of a group of flags by name, to compare with upstream's table. */
export function defaults(flags: Readonly<Record<string, { readonly default: unknown }>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flag.default]));
}
