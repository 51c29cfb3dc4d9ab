/** The arguments of this process. Apart from the settings, since reading these takes code that not every process needs. */
export function commandLine(): string[] {
  return process.argv.slice(2);
}
