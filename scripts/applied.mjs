/** `plugin` of esbuild, which fails the build if it found nothing to replace: what it replaces has been moved or renamed. */
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
