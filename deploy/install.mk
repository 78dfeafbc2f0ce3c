# make install DESTDIR=… PREFIX=/usr: the binary, the unit, its configuration, the man page and the shells' completions.
# Included by the Makefile; stands alone too: make -f deploy/install.mk install BINARY=/path/to/millrace DESTDIR=/tmp/root

PREFIX      ?= /usr
SYSCONFDIR  ?= /etc
UNITDIR     ?= /lib/systemd/system
BINARY      ?= bin/millrace
INSTALL     ?= install
DEPLOY      := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

.PHONY: install uninstall

# A configuration that is there already is somebody's work and stays. A binary for another system can't print its completions: then there
# are none.
install: $(BINARY)
	$(INSTALL) -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(UNITDIR)" "$(DESTDIR)$(SYSCONFDIR)/millrace" "$(DESTDIR)$(PREFIX)/share/man/man1"
	$(INSTALL) -m 0755 "$(BINARY)" "$(DESTDIR)$(PREFIX)/bin/millrace"
	sed 's|/usr/bin/|$(PREFIX)/bin/|;s|/etc/|$(SYSCONFDIR)/|' "$(DEPLOY)/millrace.service" >"$(DESTDIR)$(UNITDIR)/millrace.service"
	chmod 0644 "$(DESTDIR)$(UNITDIR)/millrace.service"
	test -e "$(DESTDIR)$(SYSCONFDIR)/millrace/server.properties" || \
		$(INSTALL) -m 0644 "$(DEPLOY)/server.properties" "$(DESTDIR)$(SYSCONFDIR)/millrace/server.properties"
	$(INSTALL) -m 0644 "$(DEPLOY)/millrace.1" "$(DESTDIR)$(PREFIX)/share/man/man1/millrace.1"
	@for c in bash:bash-completion/completions/millrace zsh:zsh/site-functions/_millrace fish:fish/vendor_completions.d/millrace.fish; do \
		to="$(DESTDIR)$(PREFIX)/share/$${c#*:}"; \
		if text=$$("$(BINARY)" completion "$${c%%:*}" 2>/dev/null) && [ -n "$$text" ]; then \
			$(INSTALL) -d "$$(dirname "$$to")" && printf '%s\n' "$$text" >"$$to" && chmod 0644 "$$to"; \
		fi; \
	done

# The configuration stays.
uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/millrace" "$(DESTDIR)$(UNITDIR)/millrace.service" "$(DESTDIR)$(PREFIX)/share/man/man1/millrace.1" \
		"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/millrace" "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_millrace" \
		"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/millrace.fish"
