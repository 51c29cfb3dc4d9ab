/**
 * Wraps an esbuild plugin so that the build fails if it replaces nothing, which means that its target was moved or
 * renamed.
 */
export function applied(plugin) {
  return {
    name: plugin.name,
    setup(build) {
      let found = false;
      plugin.setup({
        ...build,
        onLoad: (options, load) =>
          build.onLoad(options, (file) => {
            found = true;
            return load(file);
          }),
      });
      build.onEnd(() => (found ? {} : { errors: [{ text: `"${plugin.name}" found nothing to replace` }] }));
    },
  };
}
