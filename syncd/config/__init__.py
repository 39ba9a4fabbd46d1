"""The service's own settings: declared once, read from file and environment, frozen. Knows nothing of feed files."""

from syncd.config.kinds import Address, SmtpServer, store_address
from syncd.config.load import SettingsFault, load_settings, retired_in
from syncd.config.settings import SETTINGS, Api, Notify, Settings, StoreSettings
